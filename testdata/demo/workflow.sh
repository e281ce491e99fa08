# Shows workflows, on a scratch repository: a workflow fails at its
# fourth step, and is forked before the failure, changed, and replayed to its end.
# Another one waits for somebody, and is taken back to before it asked. A third one
# has a mistake, is mended, and goes on from before it.
# `make demo-workflow` runs it. It needs git, and git-smithers on the PATH.
. "$(dirname "$0")/shown.sh"

# frame_of SUBJECT prints the number of the newest frame of run strict whose
# commit message has SUBJECT, by plain git.
frame_of() {
	git log --format='%(trailers:key=Smithers-Frame,valueonly,separator=%x2C) %s' refs/smithers/_tip/strict |
		grep -m 1 -- "$1" | cut -d ' ' -f 1
}

say 'A repository with a little code, some tests of which fail.'
show 'git log --oneline'
fails 'sh tests/run'

say 'A workflow of six steps repairs it: reproduce, plan, patch, review, document, commit.'
show 'sed -n "/^tasks:/,\$p" fix.yaml'

say 'Run it. Its fourth step, the review, does not like the style of the patch.'
fails "git smithers run fix.yaml --run-id strict --input '{\"issue\":\"doubled dashes\",\"style\":\"strict\"}'"

say 'Every change of state was kept as a frame.'
show 'git smithers timeline strict'

failed=$(frame_of '^[0-9]* review failed')
started=$((failed - 1))
before=$((failed - 2))

say 'A frame is a commit, so plain git reads it: as a log, as a commit, as files.'
show "git log --oneline refs/smithers/_tip/strict"
show "git show --stat --format=medium refs/smithers/strict/$failed"
show "git show refs/smithers/strict/$failed:outputs-report"
show "git show refs/smithers/strict/$failed:journal/logs"

say 'What did the failing step change? As git-smithers says it, and as plain git does.'
show "git smithers diff strict:$started strict:$failed"
show "git diff --unified=0 refs/smithers/strict/$started refs/smithers/strict/$failed -- nodes"

say 'Each frame has the files of its moment. What had the patch done to the code, and which steps touched it?'
patched=$(frame_of '^[0-9]* patch finished')
show "git smithers diff --code strict:$((patched - 1)) strict:$patched"
show 'git smithers frames --path slug.sh'
say 'What would it take to go back to the files after the first step? Nothing is changed yet.'
show 'git smithers revert strict --node reproduce --dry-run'

say 'Why did it fail?'
show "git smithers show strict:$failed"

say 'Fork the run before the review, with another input. Nothing is copied, and the failed run stays.'
show "git smithers fork strict:$before --run-id relaxed --label 'relaxed style' --input '{\"style\":\"relaxed\"}'"
show "git smithers diff strict:$before relaxed:0"

say 'Replay the fork: the three finished steps are not run again, the review is.'
show "git smithers replay fix.yaml relaxed:0 --label 'second try'"

say 'The failed run, its fork, and the replay, and where they part.'
show 'git smithers timeline strict --tree'

say 'The code is repaired, and the branch holds nothing but what was committed to it.'
show 'sh tests/run'
show 'git log --oneline'
show 'git status --short'

say 'A run can wait for a person. Its process ends, and the run goes on when somebody has approved.'
fails 'git smithers run release.yaml --run-id release'
show 'git smithers inbox'
show "git smithers approve release --note 'after lunch'"
show 'git smithers resume release'
show 'git status --short'

say 'Take the run itself back to before it asked, approval and files included. Nothing is lost: undo takes that back.'
show 'git smithers travel release.yaml release --node ship'
show 'git status --short'
show 'git smithers undo release'
show 'git smithers ops release'
show 'git smithers events release --type ApprovalGranted --type TimeTravelFinished'

say 'A mistake in the workflow itself: its second step fails. Mend the file, and go back to before that step.'
fails 'git smithers run words.yaml --run-id words'
show "sed 's|tests/case |tests/cases |' words.yaml >mended && mv mended words.yaml"
show 'git smithers travel words.yaml words --node list --resume'
say 'The first step did not run again, and the file is as it was mended.'
show 'git diff --unified=0 words.yaml'
show 'head -2 list.txt'

say 'It is all ordinary git.'
show 'git fsck --strict'
show 'git smithers verify'

pause
cat <<END

What to try next, in this scratch repository:

    cd $scratch/slug
    PATH=$(dirname "$(command -v git-smithers)"):\$PATH
    git smithers runs                                    # the runs that you have seen
    git smithers show strict:$failed --attempts                # why the review failed
    git smithers fork strict:$before --node patch --label 'another patch'
    git smithers branches strict                         # the fork beside the others
    git log --stat refs/smithers/_tip/strict             # all of it, by plain git

And in a repository of your own:

    git smithers help workflow                           # how to write a workflow, with examples
    git smithers check my.yaml                           # is it sound? Nothing runs
    git smithers run my.yaml
END
