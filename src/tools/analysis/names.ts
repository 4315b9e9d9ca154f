import type { SyntaxNode } from '@lezer/common';
import { type Grammar, textOf } from './grammar.ts';

const LONGEST_NAME = 100;
/** Stands for the name of a function or class that has none. */
export const NAMELESS = '(anonymous)';

/** The name of a function or class: its own, or that of what it is assigned to. */
export function nameOf(node: SyntaxNode, grammar: Grammar, source: string): string {
  const name = ownName(node, grammar) ?? assignedName(node, grammar);
  if (name !== undefined) return shown(name, source);
  return node.prevSibling?.name === 'default' ? 'default' : NAMELESS;
}

/** A child of its own that stands before the parameters or the body. */
function ownName(node: SyntaxNode, grammar: Grammar): SyntaxNode | undefined {
  if (grammar.expressionFunctions.has(node.name)) return undefined;
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    if (grammar.names.has(child.name)) return child;
    // What `extends` is followed by is a name too, but not its own.
    if (child.name === 'ParamList' || child.name === 'extends' || child.name === grammar.body) break;
  }
  return undefined;
}

function assignedName(node: SyntaxNode, grammar: Grammar): SyntaxNode | undefined {
  const assigner = node.prevSibling;
  if (assigner === null || !grammar.assigners.has(assigner.name)) return undefined;
  let target = assigner.prevSibling;
  while (target !== null && grammar.annotations.has(target.name)) target = target.prevSibling;
  // A computed name ends with its bracket.
  if (target?.name === ']') target = node.parent!.getChild('[');
  return target !== null && grammar.names.has(target.name) ? target : undefined;
}

function shown(name: SyntaxNode, source: string): string {
  if (name.name === 'String') return cut(source.slice(name.from + 1, name.to - 1));
  if (name.name !== '[') return cut(textOf(name, source));
  let end: SyntaxNode = name;
  while (end.name !== ']' && end.nextSibling !== null) end = end.nextSibling;
  return cut(source.slice(name.from, end.to));
}

function cut(text: string): string {
  return text.length <= LONGEST_NAME ? text : `${text.slice(0, LONGEST_NAME)}…`;
}
