#!/bin/sh
# An example agent: calls the first tool it is offered with what the task says in quotes, and reports the answer.
. ./fumehood-agent.sh

# The value of one required property (path of its schema: $1): an enum's first value, else a word, else a sample.
value_for() {
    if fh_value "$1.enum[0]" >/dev/null; then fh_json "$1.enum[0]"; return; fi
    case $(fh_raw "$1.type") in
    integer | number) echo 1 ;;
    boolean) echo true ;;
    array) echo '[]' ;;
    object) echo '{}' ;;
    *) printf '"%s"\n' "${word:-example}" ;;
    esac
}

# The arguments of the first tool, a JSON object; each string property takes the next quoted word of the task.
arguments() {
    body=''
    for path in $(fh_paths '.tools[0].input_schema.required['); do
        name=$(fh_raw "$path")
        schema=".tools[0].input_schema.properties.$name"
        word=$(printf '%s\n' "$words" | sed -n 1p)
        value=$(value_for "$schema")
        [ "$value" != "\"$word\"" ] || words=$(printf '%s\n' "$words" | sed 1d)
        body="$body${body:+,}\"$name\":$value"
    done
    printf '{%s}' "$body"
}

fh_ready example-shell 1.0.0
fh_invoke
input=$(fh_input)
tool=$(fh_raw '.tools[0].name')
[ -n "$tool" ] || fh_finish completed "You said: $input"

# A quoted word of the task: in JSON its quotes are \" or '.
words=$(printf '%s\n' "$input" | sed 's/\\"/'"'"'/g' | grep -o "'[^'\\\\]*'" | sed "s/'//g")
if fh_tool "$tool" "$(arguments)"; then
    found=$(fh_paths .content | while IFS= read -r path; do
        printf '%s%s: %s\n' "${path#.content}" '' "$(fh_raw "$path")"
    done | sed 's/^: //' | tr '\n' ';' | sed 's/;$//; s/;/; /g')
    fh_finish completed "$tool says: $found"
fi
fh_finish completed "$tool did not work: $(fh_raw .reason)"
