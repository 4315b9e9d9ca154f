import type { ComponentChildren, JSX } from 'preact';

/** A few facts under a title. */
export function Card({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <section class="card">
      <h2>{title}</h2>
      <dl class="facts">{children}</dl>
    </section>
  );
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="number">{children}</dd>
    </div>
  );
}
