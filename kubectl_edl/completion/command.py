"""`kubectl edl completion SHELL` prints a completion script.

kubectl's own completion calls `kubectl_complete-edl`, so a script loads that completion if
needed. It also completes `kubectl-edl` called by its own name.
"""

from collections.abc import Mapping
from typing import Final

import click

from kubectl_edl.cli.context import CliContext

_BASH: Final = r"""# kubectl edl completion for bash: source <(kubectl edl completion bash)
if [[ $(type -t __start_kubectl) != function ]] && type kubectl &>/dev/null; then
    source <(kubectl completion bash)
fi

__kubectl_edl() {
    local line directive candidates=() word="${COMP_WORDS[COMP_CWORD]}"
    COMPREPLY=()
    while IFS='' read -r line; do
        candidates+=("${line%%$'\t'*}")
    done < <(kubectl_complete-edl "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    (( ${#candidates[@]} )) || return
    directive="${candidates[-1]}"
    unset 'candidates[-1]'
    for line in "${candidates[@]}"; do
        [[ $line == "$word"* ]] && COMPREPLY+=("$line")
    done
    if [[ $directive == :0 && ${#COMPREPLY[@]} -eq 0 ]]; then
        compopt -o default
    fi
}
complete -F __kubectl_edl kubectl-edl
"""
_ZSH: Final = r"""#compdef kubectl-edl
# kubectl edl completion for zsh: source <(kubectl edl completion zsh)
if ! (( $+functions[compdef] )); then
    autoload -Uz compinit && compinit
fi
if ! (( $+functions[_kubectl] )) && (( $+commands[kubectl] )); then
    source <(kubectl completion zsh)
    compdef _kubectl kubectl
fi

_kubectl_edl() {
    local line directive
    local -a lines found
    lines=("${(@f)$(kubectl_complete-edl "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    directive="${lines[-1]}"
    for line in "${(@)lines[1,-2]}"; do
        if [[ "$line" == *$'\t'* ]]; then
            found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
        else
            found+=("${line//:/\\:}")
        fi
    done
    if (( ${#found} )); then
        _describe 'kubectl edl' found
    elif [[ "$directive" == ":0" ]]; then
        _files
    fi
}
compdef _kubectl_edl kubectl-edl
"""
_FISH: Final = r"""# kubectl edl completion for fish: kubectl edl completion fish | source
if type -q kubectl; and not functions -q __kubectl_perform_completion
    kubectl completion fish | source
end

function __kubectl_edl
    set -l words (commandline -opc) (commandline -ct)
    set -l lines (kubectl_complete-edl $words[2..-1] 2>/dev/null)
    test (count $lines) -gt 0; or return
    set -l found (string match -v -r '^:[0-9]+$' -- $lines)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else if test "$lines[-1]" = ':0'
        __fish_complete_path (commandline -ct)
    end
end
complete -c kubectl-edl -f -a '(__kubectl_edl)'
"""

_SCRIPTS: Final[Mapping[str, str]] = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
"""Scripts by shell."""
_HELP: Final = """Print a shell completion script for kubectl edl.

It completes commands, flags, their values, and names from the cluster: training jobs, roles and
namespaces. kubectl calls kubectl_complete-edl, which pip installs on PATH with kubectl-edl. krew
links kubectl-edl alone, so a plugin that krew has installed completes nothing. The script loads
kubectl's own completion if it is missing, and also completes kubectl-edl itself. In bash, kubectl's
completion needs the package bash-completion.

\b
Examples:
  # bash, in ~/.bashrc
  source <(kubectl edl completion bash)
  # zsh, in ~/.zshrc
  source <(kubectl edl completion zsh)
  # fish, once
  kubectl edl completion fish > ~/.config/fish/completions/kubectl-edl.fish
"""


@click.command("completion", help=_HELP)
@click.argument("shell", type=click.Choice(tuple(_SCRIPTS)))
@click.pass_obj
def completion(cli: CliContext, shell: str) -> None:
    cli.out.write(_SCRIPTS[shell])
