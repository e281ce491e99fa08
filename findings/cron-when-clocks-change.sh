#!/bin/sh
# On the night in October when clocks go back, 02:30 comes twice in Berlin. One expects a library of schedules to have one rule for that: a job at 02:30 runs once, as
# with Debian's cron, or twice. Two libraries of Python (Airflow and many others stand on them) run a nightly job twice. Two of JavaScript have no rule: 02:30
# alone fires once, and in a list of hours it fires twice. In March, when 02:30 is left out, a job at 02:00 and 02:30 runs at two times, at one, or not at
# all, although the same libraries move a job at 02:30 alone. So a schedule that is moved between programs works one night twice, or misses one. Times are UTC.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund cron-parser@5.10.5 croner@11.0.1 cron@4.4.0 luxon@3.7.2 >/dev/null
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check croniter==7.0.0 cronsim==2.8 APScheduler==3.11.3 tzdata==2026.1
cat >times.js <<'JS'
const { CronExpressionParser } = require('cron-parser')
const { Cron } = require('croner')
const { CronTime } = require('cron')
const { DateTime } = require('luxon')
const [start, end, expression] = process.argv.slice(2)
const zone = 'Europe/Berlin'
const programs = {
  'cron-parser': (next = CronExpressionParser.parse(expression, { currentDate: new Date(start), tz: zone })) => () => next.next().toDate(),
  croner: (job = new Cron(expression, { timezone: zone }), at = new Date(start)) => () => (at = job.nextRun(at)),
  cron: (job = new CronTime(expression, zone), at = DateTime.fromISO(start, { zone })) => () => (at = job.getNextDateFrom(at)).toJSDate(),
}
for (const [name, begin] of Object.entries(programs)) {
  const next = begin()
  const times = []
  for (let at = next(); at < new Date(end); at = next()) times.push(at.toISOString().slice(11, 16))
  console.log(`  ${name}: ${times.join(' ')}`)
}
JS
cat >times.py <<'PY'
import sys
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger
from croniter import croniter
from cronsim import CronSim

zone = ZoneInfo("Europe/Berlin")
start, end = (datetime.fromisoformat(text).astimezone(zone) for text in sys.argv[1:3])
expression = sys.argv[3]


def apscheduler():
    trigger, at = CronTrigger.from_crontab(expression, zone), None
    while True:
        at = trigger.get_next_fire_time(at, at or start)
        yield at


def iterate():
    each = croniter(expression, start)
    while True:
        yield each.get_next(datetime)


for name, times in (("croniter", iterate()), ("APScheduler", apscheduler()), ("cronsim", CronSim(expression, start))):
    found = []
    for at in times:
        if at.timestamp() >= end.timestamp():
            break
        found.append(at.astimezone(timezone.utc).strftime("%H:%M"))
    print(f"  {name}:", *found)
PY
night() {
	echo "$1, $4"
	node times.js "$2" "$3" "$4"
	python/bin/python times.py "$2" "$3" "$4"
}
{
	for schedule in '30 2 * * *' '30 1,2,3 * * *'; do night October 2026-10-24T22:00:00+00:00 2026-10-25T06:00:00+00:00 "$schedule"; done
	for schedule in '30 2 * * *' '0,30 2 * * *'; do night March 2026-03-28T22:00:00+00:00 2026-03-29T06:00:00+00:00 "$schedule"; done
} >now
cat >seen <<'TEXT'
October, 30 2 * * *
  cron-parser: 00:30
  croner: 00:30
  cron: 00:30
  croniter: 00:30 01:30
  APScheduler: 00:30 01:30
  cronsim: 00:30
October, 30 1,2,3 * * *
  cron-parser: 23:30 00:30 02:30
  croner: 23:30 00:30 01:30 02:30
  cron: 23:30 00:30 01:30 02:30
  croniter: 23:30 00:30 01:30 02:30
  APScheduler: 23:30 00:30 01:30 02:30
  cronsim: 23:30 00:30 02:30
March, 30 2 * * *
  cron-parser: 01:30
  croner: 01:00
  cron: 01:00
  croniter: 01:00
  APScheduler: 01:30
  cronsim: 01:00
March, 0,30 2 * * *
  cron-parser: 01:00 01:30
  croner: 
  cron: 01:00
  croniter: 01:00
  APScheduler: 01:00
  cronsim: 01:00
TEXT
cat now
diff seen now && echo 'as seen'
