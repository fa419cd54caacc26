#!/bin/sh
# Two programs with git and `whence run` around them; then one question from a number of the report to the commit.
#
#     sh examples/churn/churn.sh FOLDER       (an empty folder, or one that is not there yet)
set -e
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
git init --quiet
cp "$here/churn.py" .
git add churn.py
git -c user.name="${GIT_AUTHOR_NAME:-Ann}" -c user.email="${GIT_AUTHOR_EMAIL:-ann@example.org}" \
    commit --quiet --message "Who will leave?"

whence run --log churn.whence -- python churn.py . prepare
whence run --log churn.whence -- python churn.py . score
whence import git --log churn.whence

whence backward report --row town=Oslo --columns hand --lineage value --log churn.whence
whence explain report --row town=Oslo --columns hand --save story.html --log churn.whence
whence forward customers --row id=7 --report erasure.html --log churn.whence
