#!/bin/sh
# crontab(5) of Vixie cron says how the day of the month and the day of the week go together: if one of the two begins with *, a
# day must fit both, otherwise either is enough. One expects that the cron libraries of npm follow it for a step of days
# beside a weekday, as in "0 0 */2 * 1". Four of five take either: what fired on Mondays with an odd date in crontab fires
# on every Monday and on every odd date. For a range that has all days, as in "0 0 1-31 * 1", they differ among
# themselves: it is every day for two of them, and every Monday for the others. One library wants both always, so that
# "0 0 13 * 5" is Friday the 13th alone. Smithers reads its schedules with the first of them; a pattern that
# moves from a crontab or another engine can fire on other days, and says nothing.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund cron-parser@5.10.5 croner@11.0.1 cron@4.4.0 cron-schedule@6.0.0 @breejs/later@4.2.0 >/dev/null
cat >days.mjs <<'JS'
import { CronExpressionParser } from "cron-parser";
import { Cron } from "croner";
import { CronTime } from "cron";
import { parseCronExpression } from "cron-schedule";
import later from "@breejs/later";

const from = new Date("2026-11-01T00:00:01Z");
const libraries = {
	"cron-parser": (text) => {
		const times = CronExpressionParser.parse(text, { currentDate: from, tz: "UTC" });
		return Array.from({ length: 4 }, () => times.next().toDate());
	},
	croner: (text) => new Cron(text, { timezone: "UTC" }).nextRuns(4, from),
	cron: (text) => {
		const time = new CronTime(text, "UTC");
		let at = from;
		return Array.from({ length: 4 }, () => (at = time.getNextDateFrom(at, "UTC").toJSDate()));
	},
	"cron-schedule": (text) => parseCronExpression(text).getNextDates(4, from),
	"@breejs/later": (text) => later.schedule(later.parse.cron(text)).next(4, from),
};
for (const text of ["0 0 */2 * 1", "0 0 1-31 * 1", "0 0 13 * 5"]) {
	console.log(text);
	for (const [name, next] of Object.entries(libraries)) {
		console.log(`  ${name}: ${next(text).map((day) => day.toISOString().slice(5, 10)).join(" ")}`);
	}
}
JS
TZ=UTC node days.mjs >now
cat >seen <<'TEXT'
0 0 */2 * 1
  cron-parser: 11-02 11-03 11-05 11-07
  croner: 11-02 11-03 11-05 11-07
  cron: 11-02 11-03 11-05 11-07
  cron-schedule: 11-02 11-03 11-05 11-07
  @breejs/later: 11-09 11-23 12-07 12-21
0 0 1-31 * 1
  cron-parser: 11-02 11-03 11-04 11-05
  croner: 11-02 11-03 11-04 11-05
  cron: 11-02 11-09 11-16 11-23
  cron-schedule: 11-02 11-09 11-16 11-23
  @breejs/later: 11-02 11-09 11-16 11-23
0 0 13 * 5
  cron-parser: 11-06 11-13 11-20 11-27
  croner: 11-06 11-13 11-20 11-27
  cron: 11-06 11-13 11-20 11-27
  cron-schedule: 11-06 11-13 11-20 11-27
  @breejs/later: 11-13 08-13 10-13 04-13
TEXT
for name in cron-parser croner cron cron-schedule @breejs/later; do
	echo "$name $(node -p "require('./node_modules/$name/package.json').version")"
done
echo "node $(node --version)"
cat now
diff seen now
