#!/bin/bash
# fresh_cases.sh HEADWISE_CASES_PROGRAM: 200 random cases from the oracle, of a seed that is printed,
# through every backend. HEADWISE_SEED repeats one.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
seed=${HEADWISE_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
echo "HEADWISE_SEED=$seed"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$here/oracle/make_cases.py" "$folder" --seed "$seed" --random 200
"$1" "$folder"
