#!/bin/sh
# Dulwich, which Python tools use instead of git, opens a repository whose refs are in a reftable, the form that git 3 makes by default. One
# expects that it does as in any other repository, or refuses as libgit2 and GitPython do. Reading a ref is right. Its list
# of branches lacks the first letter of each name, so that "main" is "ain"; a commit says that HEAD has changed
# meanwhile, and is on no branch; and a ref that is set by it has no line in the reflog, so that git cannot
# say where the branch was.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
git init -q -b main --ref-format=reftable repository || { echo 'it needs git 2.45'; exit 1; }
python3 -m venv py
py/bin/pip install -q --disable-pip-version-check dulwich==1.2.21
cd repository
echo one >file
git add file
git commit -qm one
git commit -q --allow-empty -m two
git branch other HEAD~1
cat >../look.py <<'PY'
from dulwich import porcelain
from dulwich.repo import Repo

repo = Repo(".")
print("main is git's:", repo.refs[b"refs/heads/main"].decode() == open("../main").read().strip())
print("branches:", sorted(name.decode() for name in porcelain.branch_list(repo)))
open("new", "w").write("new\n")
porcelain.add(repo, ["new"])
try:
    porcelain.commit(repo, message=b"three")
    print("committed")
except Exception as error:
    print(f"commit: {error}")
print("other is moved:", repo.refs.set_if_equals(b"refs/heads/other", repo.refs[b"refs/heads/other"], repo.head()))
PY
git rev-parse main >../main
{
	../py/bin/python ../look.py
	echo "git's branches: $(git branch --format='%(refname:short)' | tr '\n' ' ')"
	echo "git's newest commit: $(git log -1 --format=%s)"
	echo "git's other: $(git log -1 --format=%s other), entries in its reflog: $(git reflog other | wc -l)"
} >../now
cat >../seen <<'TEXT'
main is git's: True
branches: ['ain', 'ther']
commit: b'HEAD' changed during commit
other is moved: True
git's branches: main other 
git's newest commit: two
git's other: two, entries in its reflog: 1
TEXT
../py/bin/pip list --disable-pip-version-check 2>/dev/null | grep -i dulwich
git --version
cat ../now
diff ../seen ../now && echo 'as seen'
