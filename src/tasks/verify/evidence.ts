/** What one check showed. */
export interface Evidence {
  /** What was looked at: a path, or a command. */
  readonly subject: string;
  readonly ok: boolean;
  /** What was found, to be read behind the subject. */
  readonly text: string;
}

export function evidenceText({ subject, text }: Evidence): string {
  return `${subject} ${text}`;
}
