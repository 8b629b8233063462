#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A build step: fails when a recommendation of at least this severity waits for a decision.
#
#   gate.sh FILE [info|low|medium|high]
#
# Exit: 0 nothing waits, 2 something does (its list is printed), 1 the memory could not be read, 64 usage.
set -u
deja=${DEJA:-deja}
$deja loop list --db "$1" --fail-on "${2:-high}"
status=$?
[ "$status" -ne 2 ] || echo "decide first: deja review --db $1" >&2
exit "$status"
