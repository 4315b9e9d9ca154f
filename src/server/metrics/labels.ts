/** What all names beyond the limit are counted as. */
const OTHER = 'other';

/** Keeps the values of a label from growing without end: the first so many names count by themselves. */
export class BoundedNames {
  private readonly known = new Set<string>();

  constructor(private readonly most: number) {}

  of(name: string): string {
    if (this.known.has(name)) return name;
    if (this.known.size >= this.most) return OTHER;
    this.known.add(name);
    return name;
  }
}
