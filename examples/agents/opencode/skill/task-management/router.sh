#!/usr/bin/env bash
# For prompts that call router.sh: `router.sh status auth-system` is `volley tasks status auth-system`.
#
#   router.sh status|next|parallel|blocked|validate|plan [FEATURE]
#   router.sh deps FEATURE SEQ
#   router.sh complete FEATURE SEQ "SUMMARY"
#   router.sh run FEATURE [--subtasks 01,02,03] [--session PATH]
#   router.sh help [COMMAND]
#
# The nearest node_modules upwards has the first word, then the PATH. Nothing is ever downloaded.
set -euo pipefail

[ "$#" -gt 0 ] || set -- help

folder=$PWD
while :; do
  program=$folder/node_modules/.bin/volley
  if [ -x "$program" ]; then exec "$program" tasks "$@"; fi
  [ -n "$folder" ] || break
  folder=${folder%/*}
done
if command -v volley > /dev/null; then exec volley tasks "$@"; fi

echo 'router.sh: Volley is not installed here: npm install --save-dev volley' >&2
exit 127
