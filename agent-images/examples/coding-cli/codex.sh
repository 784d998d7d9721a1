#!/bin/sh
# The box is the sandbox: one of codex's own inside it is neither needed nor possible. What is disabled wants a network.
mkdir -p /tmp/workspace # it is there where the scenario has files
exec node_modules/.bin/codex exec \
  --dangerously-bypass-approvals-and-sandbox --skip-git-repo-check --cd /tmp/workspace \
  --config 'model="gpt-5-codex"' \
  --config 'model_provider="gateway"' \
  --config 'model_providers.gateway={name="gateway",base_url="http://127.0.0.1:4181/v1",env_key="OPENAI_API_KEY"}' \
  --config 'mcp_servers.tools={url="http://127.0.0.1:4181/mcp"}' \
  --config 'web_search="disabled"' \
  --config analytics.enabled=false \
  --disable plugins --disable apps
