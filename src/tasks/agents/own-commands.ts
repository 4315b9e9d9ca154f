/** An agent may always tell that it is done, whatever else it may run. */
const OWN_COMMANDS = ['volley tasks complete', 'npx volley tasks complete', 'npx --no volley tasks complete'];

export function withOwnCommands(allowed: readonly string[]): readonly string[] {
  return [...allowed, ...OWN_COMMANDS];
}
