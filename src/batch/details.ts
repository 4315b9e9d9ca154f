const MAX_ENTRIES = 20;

/** Details of an error as an answer tells them: of a long list, such as a cycle of thousands of tasks, the beginning. */
export function shortDetails(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(details).map(([name, value]) => [
      name,
      Array.isArray(value) && value.length > MAX_ENTRIES ? value.slice(0, MAX_ENTRIES) : value,
    ]),
  );
}
