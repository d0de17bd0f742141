// What shells run to ask for candidates. Each calls `kubectl __complete` with the words so far, and reads lines until the one with the colon.

const bash = `# kubectl completion for bash. Source it, or put it where bash-completion looks.
__kubectl_complete() {
    local current words candidates directive line
    COMPREPLY=()
    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        local cword cur
        _get_comp_words_by_ref -n "=:" cur words cword
        words=("\${words[@]:0:cword+1}")
        current=$cur
    else
        words=("\${COMP_WORDS[@]:0:COMP_CWORD+1}")
        current=\${COMP_WORDS[COMP_CWORD]}
    fi
    words[\${#words[@]}-1]=$current
    candidates=$("\${words[0]}" __completeNoDesc "\${words[@]:1}" 2>/dev/null) || return
    directive=\${candidates##*:}
    candidates=\${candidates%:*}
    [[ $directive =~ ^[0-9]+$ ]] || return
    while IFS= read -r line; do
        [[ -n $line && $line == "$current"* ]] && COMPREPLY+=("$line")
    done <<<"$candidates"
    if ((directive & 2)); then compopt -o nospace 2>/dev/null; fi
    if ((\${#COMPREPLY[@]} == 0)) && ! ((directive & 4)); then
        compopt -o filenames 2>/dev/null
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "\${current#--*=}")
    fi
    if declare -F __ltrim_colon_completions >/dev/null 2>&1; then __ltrim_colon_completions "$current"; fi
}
complete -o default -F __kubectl_complete kubectl
`;

const zsh = `#compdef kubectl
compdef _kubectl kubectl
# kubectl completion for zsh. Source it, or save it as _kubectl in a folder of $fpath.
_kubectl() {
    local -a lines described plain
    local out directive line name
    out=$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null) || return 1
    lines=("\${(@f)out}")
    directive=\${lines[-1]#:}
    [[ $directive == <-> ]] || return 1
    lines=("\${(@)lines[1,-2]}")
    for line in "\${lines[@]}"; do
        [[ -z $line ]] && continue
        name=\${\${line%%$'\\t'*}//:/\\\\:}
        if [[ $line == *$'\\t'* ]]; then described+=("$name:\${line#*$'\\t'}"); else described+=("$name"); fi
    done
    local -a options
    if ((directive & 2)); then options+=(-S ''); fi
    if ((\${#described})); then
        _describe 'kubectl' described "\${options[@]}" && return 0
    fi
    if ! ((directive & 4)); then _files; fi
}
if [ "$funcstack[1]" = "_kubectl" ]; then _kubectl; fi
`;

const fish = `# kubectl completion for fish. Save it as ~/.config/fish/completions/kubectl.fish.
function __kubectl_candidates
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l out ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
    test (count $out) -gt 0; or return 1
    set -l directive (string sub -s 2 -- $out[-1])
    string match -qr '^[0-9]+$' -- $directive; or return 1
    set -l found (string match -v '' -- $out[1..-2])
    if test (count $found) -eq 0; and test (math "bitand($directive, 4)") -eq 0
        __fish_complete_path "$current"
        return
    end
    printf '%s\\n' $found
end
complete -c kubectl -e
complete -c kubectl -f -a '(__kubectl_candidates)'
`;

const powershell = `# kubectl completion for PowerShell. Run: kubectl completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName 'kubectl' -ScriptBlock {
    param($WordToComplete, $CommandAst, $CursorPosition)
    $Words = @($CommandAst.CommandElements | ForEach-Object { $_.ToString() })
    $Program = $Words[0]
    $Before = @($Words | Select-Object -Skip 1)
    if ($WordToComplete -ne '' -and $Before.Count -gt 0) { $Before = @($Before | Select-Object -SkipLast 1) }
    $Lines = @(& $Program __complete @Before "$WordToComplete" 2>$null)
    if ($Lines.Count -eq 0) { return }
    $Directive = [int]($Lines[-1].TrimStart(':'))
    $Space = if ($Directive -band 2) { '' } else { ' ' }
    $Lines | Select-Object -SkipLast 1 | Where-Object { $_ -ne '' } | ForEach-Object {
        $Name, $Help = $_.Split([char]9, 2)
        if (-not $Help) { $Help = $Name }
        if ($Name -like "$WordToComplete*") {
            [System.Management.Automation.CompletionResult]::new("$Name$Space", $Name, 'ParameterValue', $Help)
        }
    }
}
`;

export const completionScripts: Readonly<Record<string, string>> = { bash, zsh, fish, powershell };
