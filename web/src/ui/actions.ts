import { signal } from '@preact/signals';
import { ApiError } from '../api/http.ts';

export interface Notice {
  readonly id: number;
  readonly kind: 'done' | 'error';
  readonly text: string;
}

export const notices = signal<readonly Notice[]>([]);

const SHOWN_MS = 6000;
let count = 0;

export function notify(kind: Notice['kind'], text: string): void {
  const id = ++count;
  notices.value = [...notices.value.slice(-3), { id, kind, text }];
  setTimeout(() => dismiss(id), kind === 'error' ? 2 * SHOWN_MS : SHOWN_MS);
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}

/** Does something on the server, which answers what came of it, and says so. Answers whether it was done. */
export async function act(action: () => Promise<string>): Promise<boolean> {
  try {
    notify('done', await action());
    return true;
  } catch (error) {
    notify('error', error instanceof ApiError ? error.text : String(error));
    return false;
  }
}
