# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Completion of omptier for bash. What a word may become is asked of omptier itself; a program behind
# its options is completed as bash-completion, if it is loaded, would complete it.

# The path that a word of the command line means, as far as it is typed.
_omptier_path() {
  local path=$1
  if [[ $path == \'* ]]; then path=${path#\'}
  else path=${path#\"} path=${path//\\/}
  fi
  printf '%s' "${path/#\~/$HOME}"
}

_omptier() {
  local -a words=() first=() # as omptier reads them; which of bash's words each begins with
  local i word answer
  # Bash also cuts words at = and :, as in --timed=100.
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if ((i > 1)) && [[ $word == [=:]* || ${COMP_WORDS[i - 1]} == *[=:] ]]; then
      words[-1]+=$word
    else
      words+=("$word") first+=("$i")
    fi
  done
  local whole=${words[-1]} typed=${COMP_WORDS[COMP_CWORD]}
  [[ $typed == [=:] ]] && typed=
  local before=${whole%"$typed"} # stands on the line already
  local command=${words[0]/#\~/$HOME}
  type -P -- "$command" > /dev/null || command=omptier

  COMPREPLY=()
  answer=$("$command" complete -- "${words[@]:1}" 2> /dev/null) || return
  case $answer in
    :files)
      compopt -o filenames 2> /dev/null
      [[ $whole != --*=* ]] || whole=${whole#*=} before=${before#*=}
      mapfile -t COMPREPLY < <(compgen -f -- "$(_omptier_path "$whole")")
      COMPREPLY=("${COMPREPLY[@]#"$(_omptier_path "$before")"}") # what stands before a colon
      ;;
    ":program "*)
      i=${first[${answer#:program }]}
      if declare -F _comp_command_offset > /dev/null; then # bash-completion from 2.12 on
        _comp_command_offset "$i"
      elif declare -F _command_offset > /dev/null; then
        _command_offset "$i"
      elif ((COMP_CWORD == i)); then
        compopt -o filenames 2> /dev/null
        mapfile -t COMPREPLY < <(compgen -c -- "$typed"; compgen -f -- "$typed")
      else
        compopt -o filenames 2> /dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$typed")
      fi
      ;;
    ?*)
      while IFS=$'\t' read -r word _; do
        COMPREPLY+=("${word#"$before"}")
      done <<< "$answer"
      ;;
  esac
}

complete -F _omptier omptier
