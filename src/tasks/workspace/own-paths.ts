/** What Volley itself writes into a project. It is nobody's work. */
export const OWN_PATHS = ['.tmp/tasks', '.volley'] as const;

export function isOwnPath(path: string): boolean {
  return OWN_PATHS.some((own) => path === own || path.startsWith(`${own}/`));
}
