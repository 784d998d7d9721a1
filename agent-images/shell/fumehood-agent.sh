# The agent's side of the Fumehood protocol for POSIX sh; needs awk, sed and grep (busybox has all three), no jq.
#
#   . ./fumehood-agent.sh
#   fh_ready example 1.0.0
#   fh_invoke                                   # waits for the work
#   fh_tool "$(fh_raw '.tools[0].name')" '{"tier":"premium"}' && found=$(fh_json '.content')
#   fh_finish completed "$(printf 'It says %s' "$found" | fh_escape)"
#
# A message is kept as one line a value, `path TAB value`: strings still JSON-escaped (so one line each) behind
# a `"`, anything else as it stands. Three views of a value:
#   fh_raw PATH    a string as it stands in JSON, without its quotes: may be pasted between quotes as it is
#   fh_text PATH   a string decoded, for people and programs
#   fh_json PATH   a number, true, false, null or string as JSON
# and fh_escape turns text (stdin) into the inside of a JSON string. Arrays and objects: read their parts by path,
# `.tools[0].input_schema.required[1]`, or list the paths with `fh_paths PREFIX`.

exec 4<&0 3>&1 </dev/null 1>&2 # what a program prints ends on stderr; none can eat the harness's lines
trap 'exit 143' TERM
fh_flat=''
fh_calls=0
fh_steps=''

# One JSON object a line (stdin) to `path TAB value` lines. A line is cut at its quotes, so the cost is linear even
# for long strings: odd fields are structure, even ones strings, joined again where the quote was escaped.
fh_flatten() {
    LC_ALL=C awk -F '"' '
    function here(    text, level) {
        text = ""
        for (level = 1; level <= depth; level++) text = text (kind[level] == "[" ? "[" place[level] "]" : "." place[level])
        return text
    }
    function scalar() { if (word != "") { print here() "\t" word; word = "" } }
    function structure(text,    at, mark) {
        for (at = 1; at <= length(text); at++) {
            mark = substr(text, at, 1)
            if (mark == "{" || mark == "[") { depth++; kind[depth] = mark; place[depth] = 0; wantkey = mark == "{" }
            else if (mark == "}" || mark == "]") { scalar(); depth--; wantkey = 0 }
            else if (mark == ",") { scalar(); if (kind[depth] == "[") place[depth]++; else wantkey = 1 }
            else if (mark == ":") wantkey = 0
            else if (mark != " " && mark != "\t" && mark != "\r") word = word mark
        }
    }
    function odd_backslashes(text,    count) {
        for (count = 0; count < length(text) && substr(text, length(text) - count, 1) == "\\"; count++) ;
        return count % 2
    }
    {
        depth = 0; word = ""; wantkey = 0
        for (part = 1; part <= NF; part++) {
            structure($part)
            if (++part > NF) break
            piece = $part; value = piece
            # A value is printed piece by piece: joining first would cost the square of their number.
            if (!wantkey) printf "%s\t\"%s", here(), piece
            while (odd_backslashes(piece) && part < NF) {
                part++; piece = $part
                if (wantkey) value = value "\"" piece
                else printf "\"%s", piece
            }
            if (wantkey) { place[depth] = value; wantkey = 0 }
            else print ""
        }
        scalar()
    }'
}

# Text (stdin) as the inside of a JSON string. Bytes that are not UTF-8 are the caller's to avoid.
fh_escape() {
    LC_ALL=C awk '
    BEGIN { for (code = 1; code < 32; code++) control[sprintf("%c", code)] = sprintf("\\u%04x", code) }
    {
        gsub(/\\/, "&&"); gsub(/"/, "\\\""); gsub(/\t/, "\\t"); gsub(/\r/, "\\r")
        if ($0 ~ /[\001-\037\177]/) for (mark in control) while ((at = index($0, mark)) > 0)
            $0 = substr($0, 1, at - 1) control[mark] substr($0, at + 1)
        printf "%s%s", (NR > 1 ? "\\n" : ""), $0
    }'
}

# The inside of a JSON string (stdin, one line) as text.
fh_unescape() {
    LC_ALL=C awk '
    function hex(text,    at, sum) {
        sum = 0
        for (at = 1; at <= 4; at++) sum = sum * 16 + index("0123456789abcdef", tolower(substr(text, at, 1))) - 1
        return sum
    }
    function utf8(code) {
        if (code < 128) return code ? sprintf("%c", code) : ""
        if (code < 2048) return sprintf("%c%c", 192 + int(code / 64), 128 + code % 64)
        if (code < 65536) return sprintf("%c%c%c", 224 + int(code / 4096), 128 + int(code / 64) % 64, 128 + code % 64)
        return sprintf("%c%c%c%c", 240 + int(code / 262144), 128 + int(code / 4096) % 64, 128 + int(code / 64) % 64, 128 + code % 64)
    }
    BEGIN { plain["n"] = "\n"; plain["t"] = "\t"; plain["r"] = "\r"; plain["b"] = "\b"; plain["f"] = "\f" }
    {
        count = split($0, piece, "\\")
        printf "%s", piece[1]
        for (at = 2; at <= count; at++) {
            mark = substr(piece[at], 1, 1)
            if (mark == "") { printf "\\%s", piece[++at]; continue }
            if (mark != "u") { printf "%s%s", (mark in plain ? plain[mark] : mark), substr(piece[at], 2); continue }
            code = hex(substr(piece[at], 2, 4))
            if (code >= 55296 && code < 56320 && length(piece[at]) == 5 && substr(piece[at + 1], 1, 1) == "u") {
                at++; code = 65536 + (code - 55296) * 1024 + hex(substr(piece[at], 2, 4)) - 56320
            }
            printf "%s%s", utf8(code), substr(piece[at], 6)
        }
    }'
}

# The line of a path in the message last read, without the path; fails if there is none.
fh_value() {
    printf '%s\n' "$fh_flat" | LC_ALL=C fh_path="$1" awk '
    BEGIN { path = ENVIRON["fh_path"] "\t" }
    substr($0, 1, length(path)) == path { print substr($0, length(path) + 1); found = 1; exit }
    END { exit !found }'
}
fh_raw() { fh_value "$1" | sed 's/^"//'; }
fh_text() { fh_raw "$1" | fh_unescape; }
fh_json() { fh_value "$1" | sed 's/^"\(.*\)$/"\1"/'; }
fh_paths() {
    printf '%s\n' "$fh_flat" | LC_ALL=C fh_path="$1" awk '
    BEGIN { path = ENVIRON["fh_path"] }
    substr($0, 1, length(path)) == path { print substr($0, 1, index($0, "\t") - 1) }'
}

# Write one message (a JSON object on one line).
fh_send() { printf '%s\n' "$1" >&3; }

# Read the next message; ends the process where there is none, or a cancel.
fh_read() {
    IFS= read -r fh_line <&4 || exit 0
    fh_flat=$(printf '%s\n' "$fh_line" | fh_flatten)
    fh_line=''
    [ "$(fh_raw .type)" != cancel ] || exit 0
}

# fh_ready NAME [VERSION]: say that the agent has booted.
fh_ready() {
    fh_send "{\"type\":\"ready\",\"protocol\":[\"1.0\"],\"agent\":{\"name\":\"$1\",\"version\":\"${2:-}\"},\"capabilities\":[]}"
}

# Wait for the work.
fh_invoke() {
    fh_read
    [ "$(fh_raw .type)" = invoke ] || exit 1
}

# The text of the task, JSON-escaped: the input, or the user's last message of a conversation.
fh_input() {
    if fh_value .input >/dev/null; then fh_raw .input; return; fi
    fh_last=$(fh_paths '.input[' | sed -n 's/\.role$//p' | while IFS= read -r fh_turn; do
        [ "$(fh_raw "$fh_turn.role")" = user ] && printf '%s\n' "$fh_turn"
    done | tail -n 1)
    fh_raw "$fh_last.content"
}

# fh_tool NAME ARGUMENTS: call a tool; 0: ok, 1: error, 2: denied. Then read `.content` and `.reason`.
# NAME is JSON-escaped text, ARGUMENTS a JSON object.
fh_tool() {
    fh_calls=$((fh_calls + 1))
    fh_steps="$fh_steps${fh_steps:+,}{\"kind\":\"tool_call\",\"name\":\"$1\",\"arguments\":$2}"
    fh_send "{\"type\":\"tool_call\",\"id\":\"c$fh_calls\",\"name\":\"$1\",\"arguments\":$2}"
    fh_read
    case $(fh_raw .status) in ok) return 0 ;; denied) return 2 ;; *) return 1 ;; esac
}

# fh_ask QUESTION (JSON-escaped): ask the user; then read `.content`.
fh_ask() {
    fh_calls=$((fh_calls + 1))
    fh_send "{\"type\":\"ask\",\"id\":\"c$fh_calls\",\"content\":\"$1\"}"
    fh_read
}

# fh_note LEVEL TEXT (JSON-escaped): write to the log; LEVEL is debug, info, warning or error.
fh_note() { fh_send "{\"type\":\"note\",\"level\":\"$1\",\"text\":\"$2\"}"; }

# fh_finish STATUS TEXT (JSON-escaped): the answer; STATUS is completed, refused or failed. Ends the process.
fh_finish() {
    fh_end="{\"type\":\"trajectory\",\"status\":\"$1\",\"output\":{\"text\":\"$2\"},\"steps\":[$fh_steps]"
    [ "$1" != failed ] || fh_end="$fh_end,\"error\":{\"message\":\"$2\"}"
    fh_send "$fh_end}"
    exit 0
}
