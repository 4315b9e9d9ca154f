/** The batch that a feature runs as. */
export function batchNameOf(feature: string): string {
  return `feature-${feature}`.slice(0, 100);
}
