/** What is wrong, for people: where it is many things, each on a line of its own. */
export function faultText(message: string, details: Readonly<Record<string, unknown>> = {}): string {
  const problems = details['problems'] as readonly string[] | undefined;
  const start = problems?.[0] === undefined ? -1 : message.indexOf(problems[0]);
  if (problems === undefined || problems.length < 2 || start < 0) return message;
  return [message.slice(0, start).trim(), ...problems.map((problem) => `  ${problem}`)].join('\n');
}
