/** What an error means, and what to do about it, by its code. */
export type ErrorTable = Readonly<Record<string, { readonly meaning: string; readonly remedy: string }>>;
