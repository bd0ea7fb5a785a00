/* pcp completion: a script for a shell that completes words of pcp and its services. The script knows no word
 * itself: it asks `pcp --commands` and PROGRAM ... --help-flags, which print the tables. */
#include <stdio.h>
#include <string.h>

#include "pcp/cmd.h"

/* zsh runs functions of bash after bashcompinit; there COMP_WORDS counts from 0, too. */
static const char script[] =
    "_pcp() {\n"
    "    local program=\"${COMP_WORDS[0]}\" cur=\"${COMP_WORDS[COMP_CWORD]}\"\n"
    "    local prev=\"${COMP_WORDS[COMP_CWORD-1]}\" i flag values rows='' flags='' verbs='' "
    "known=''\n"
    "    local -a leading\n"
    "    leading=() COMPREPLY=()\n"
    "    if [ \"$cur\" = '=' ]; then\n" /* --flag=VALUE are three words for bash */
    "        cur=''\n"
    "    elif [ \"$prev\" = '=' ]; then\n"
    "        prev=\"${COMP_WORDS[COMP_CWORD-2]}\"\n"
    "    fi\n"
    "    for ((i = 1; i < COMP_CWORD && i < 3; i++)); do\n"
    "        case \"${COMP_WORDS[i]}\" in -*) break ;; esac\n"
    "        leading+=(\"${COMP_WORDS[i]}\")\n"
    "    done\n"
    "    if [ \"${program##*/}\" = pcp ] && [ \"$COMP_CWORD\" -eq 1 ]; then\n"
    "        verbs=\"$(\"$program\" --commands 2>/dev/null) help\" flags='--help --version'\n"
    "    else\n"
    "        rows=$(\"$program\" \"${leading[@]}\" --help-flags 2>/dev/null)\n"
    "        while read -r flag values; do\n"
    "            case \"$flag\" in\n"
    "            =) [ \"${#leading[@]}\" -gt 1 ] || verbs=\"$verbs ${values//|/ }\" ;;\n"
    "            -*) flags=\"$flags $flag\"\n"
    "                [ \"$flag\" != \"$prev\" ] || known=\"$values\" ;;\n"
    "            esac\n"
    "        done <<<\"$rows\"\n"
    "    fi\n"
    "    case \"$known\" in\n"
    "    '') case \"$cur\" in\n"
    "        -*) COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\")) ;;\n"
    "        *) COMPREPLY=($(compgen -W \"$verbs\" -- \"$cur\")) ;;\n"
    "        esac ;;\n"
    "    NUMBER | TEXT) ;;\n"
    "    *) COMPREPLY=($(compgen -W \"${known//|/ }\" -- \"$cur\")) ;;\n"
    "    esac\n"
    "}\n"
    "complete -o bashdefault -o default -F _pcp pcp pcp-aggregator pcp-compiler pcp-gateway "
    "pcp-metrics pcp-shepherd pcp-supervisor pcp-worker\n";

static const config_table_t table = {
    .usage = "usage: pcp completion bash|zsh\n\n"
             "Prints a script that lets the shell complete commands, flags and their values:\n\n"
             "  source <(pcp completion bash)      now, or as a line of ~/.bashrc\n"
             "  source <(pcp completion zsh)       the same in ~/.zshrc",
    .purpose = "print a script for the shell that completes commands, flags and values",
    .no_env = true,
};

static int print_script(const void *nothing, const config_args_t *args, err_t *err)
{
    (void)nothing;
    const char *shell = args->n_operands == 1 ? args->operands[0] : "";
    bool zsh = strcmp(shell, "zsh") == 0;
    if (!zsh && strcmp(shell, "bash") != 0)
        return err_set(err, ERR_ARG, "say for which shell: bash or zsh");
    if (zsh) puts("autoload -Uz compinit bashcompinit && compinit && bashcompinit");
    fputs(script, stdout);
    return 0;
}

int cmd_completion(int argc, char **argv)
{
    char nothing = 0;
    err_t err = {0};
    return cmd_run(&table, &nothing, argc, argv, print_script, &err);
}
