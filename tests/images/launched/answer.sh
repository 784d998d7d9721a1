# A program that knows nothing of the protocol: a task on stdin, the first tool over MCP, an answer on stdout.
task=$(cat)
name=$(echo '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | fumehood-mcp | sed -n 's/.*"name":"\([^"]*\)".*/\1/p')
if [ -z "$name" ]; then
    printf 'You said: %s\n' "$task"
else
    call='{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"'$name'","arguments":{"tier":"premium"}}}'
    printf '%s\n' "$call" | fumehood-mcp
fi
