import { signal } from '@preact/signals';

export type OpenDialog =
  | { readonly kind: 'help' }
  /** `batch` is where new tasks go, if that is settled. */
  | { readonly kind: 'add'; readonly batch?: string };

/** The dialog that is open. */
export const dialog = signal<OpenDialog | undefined>(undefined);
