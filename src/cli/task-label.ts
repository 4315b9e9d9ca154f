interface Named {
  readonly id: string;
  readonly name: string;
  readonly function: string;
}

/** What a task is shown as. Many without a name of their own have the same tool: their ids tell them apart. */
export function ownLabel({ id, name, function: tool }: Named): string {
  return name === tool ? id : name;
}
