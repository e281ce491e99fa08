# Shows what git-smithers is for, on a scratch repository: a coding agent is recorded, its third answer is looked at, another course is
# taken from the third prompt, and that course is landed. The agent is a recording: no model, no network.
# `make demo` runs it. It needs git, and git-smithers on the PATH. `make demo-workflow` shows workflows.
. "$(dirname "$0")/shown.sh"

# The recorded agent is the only claude here, and its conversations are in the scratch folder.
PATH=$(dirname "$project")/agent:$PATH
export PATH CLAUDE_CONFIG_DIR="$scratch/claude"

say 'A repository with a little code. Half of its tests fail.'
fails 'sh tests/run'

say 'Record the sessions of coding agents in it, from now on.'
show 'git smithers session enable claude'

say 'Work as ever. (A recorded session plays here.)'
plays claude

say 'Each prompt and each batch of tool calls was kept: files, conversation, tokens.'
show 'git smithers timeline @'

say 'All tests pass, it says. What did step 11 change?'
show 'git smithers diff --code @:11'

say 'It has removed the tests that failed. What if you had said something else? Another course, in a worktree of its own.'
show "git smithers session what-if @:turn:3 'Make it faster. Leave tests/ alone.' --to ../again --no-start | tee ../start"
cd ../again
plays "$(sed 's/^cd [^&]*&& //' ../start)"
cd ../slug

say 'Go back: the files of the third prompt. `undo` goes forward again.'
show 'git smithers session replay @:turn:3'

say 'Land: the work of the other course, on your branch.'
course=$(git smithers branches @ | cut -f 1)
show "git smithers land $course --commit"
show 'git show --stat --format=%B HEAD'
show 'sh tests/run'

say 'It is all ordinary git.'
show 'git fsck --strict'
show 'git smithers verify'

pause
cat <<END

The repository stays, to play in:

    cd $scratch/slug
    export PATH=$(dirname "$(command -v git-smithers)"):\$PATH
    git smithers tui @                                   # look around
    git smithers undo                                    # take the landing back
    git smithers logs @                                  # the conversation
    git smithers report @ -o session.html                # a page to send

And in a repository of your own: \`git smithers session enable\`.
END
