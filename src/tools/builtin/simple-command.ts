/** Words that mean something to the shell itself; the shell may do better than a program of that name. */
const OWN_WORDS = new Set(
  `. : [ alias bg bind break builtin caller case cd chdir command continue coproc declare dirs disown do done echo elif
  else enable esac eval exec exit export false fc fg fi for function getopts hash help history if in jobs kill let
  local logout mapfile popd printf pushd pwd read readarray readonly return select set shift shopt source suspend test
  then time times trap true type typeset ulimit umask unalias unset until wait while`.split(/\s+/),
);

/** Only characters that no shell does anything with; the first word is no assignment. */
const PLAIN = /^[\w./+-]+(?: +[\w./+:=@%,-]+)*$/;

/**
 * The words of a command that a POSIX shell would do nothing with but start it: then the shell can be left out, as `make`
 * does, which halves the work. Undefined for any other command. A program that cannot be started that way is still
 * a matter for the shell.
 */
export function simpleCommand(command: string): [string, ...string[]] | undefined {
  if (!PLAIN.test(command)) return undefined;
  const words = command.split(/ +/) as [string, ...string[]];
  return OWN_WORDS.has(words[0]) || words[0].startsWith('-') ? undefined : words;
}
