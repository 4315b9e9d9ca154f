const CONTEXT = 2;

/** What changes, as lines with - and +, with a few around them. */
export function changeText(before: string, after: string): string {
  const [old, new_] = [linesOf(before), linesOf(after)];
  let begin = 0;
  while (begin < old.length && begin < new_.length && old[begin] === new_[begin]) begin++;
  let end = 0;
  while (
    end < old.length - begin &&
    end < new_.length - begin &&
    old[old.length - 1 - end] === new_[new_.length - 1 - end]
  ) {
    end++;
  }
  return [
    ...old.slice(Math.max(0, begin - CONTEXT), begin).map((line) => `  ${line}`),
    ...old.slice(begin, old.length - end).map((line) => `- ${line}`),
    ...new_.slice(begin, new_.length - end).map((line) => `+ ${line}`),
    ...old.slice(old.length - end, old.length - end + CONTEXT).map((line) => `  ${line}`),
  ].join('\n');
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/);
}
