#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What cron starts: bring the day's sessions in, then let the analyzers look when there is enough that is new.
# Prints one line on stderr when something was found (cron mails it), nothing otherwise.
#
#   17 3 * * * /path/to/night.sh /path/to/agent.deja /path/to/sessions
#
# A run beside another one is a clean skip. Nothing is approved here, and nothing needs to stay running.
set -eu
deja=${DEJA:-deja}
$deja import "$2" --db "$1" >/dev/null
$deja loop run --db "$1" --min-new 20 --min-new-errors 3 --if-stale 7d --quiet
