/** The one form of a sequence number: two digits, or more where they are needed. What is no number stays as it is. */
export function seqOf(value: string | number): string {
  const text = String(value).trim();
  return /^\d{1,9}$/.test(text) ? String(Number(text)).padStart(2, '0') : text;
}

export function isSeq(text: string): boolean {
  return /^\d{2,9}$/.test(text);
}

/** The sequence that a reference means: `1`, `01` or `auth-system-01`. */
export function seqOfReference(reference: string | number, feature: string): string {
  const text = String(reference).trim();
  const prefix = `${feature}-`;
  return seqOf(text.startsWith(prefix) ? text.slice(prefix.length) : text);
}

export function compareSeqs(a: string, b: string): number {
  const [first, second] = [Number(a), Number(b)];
  if (Number.isNaN(first) || Number.isNaN(second)) return a < b ? -1 : Number(a > b);
  return first - second;
}

export function subtaskFile(seq: string): string {
  return `subtask_${seq}.json`;
}

/** The sequence that the name of a file says; undefined where it is no file of a subtask. */
export function seqOfFile(file: string): string | undefined {
  const found = /^subtask_(.+)\.json$/.exec(file)?.[1];
  return found === undefined ? undefined : seqOf(found);
}
