import type { PortableCode } from '../load-code.ts';

/** How much the latest call changes the estimate. */
const WEIGHT = 0.1;
const MIN_MS = 0.001;

/** A tool as threads know it, and how long its calls take. */
export class KnownTool {
  /** The logarithm of the geometric mean: one interruption does not make a tiny tool look slow. */
  private logMs: number | undefined = undefined;
  /** Without the time to load it; unknown before the first answer. */
  typicalMs: number | undefined = undefined;

  constructor(
    readonly number: number,
    readonly name: string,
    readonly code: PortableCode,
  ) {}

  took(ms: number): void {
    const log = Math.log(Math.max(ms, MIN_MS));
    this.logMs = this.logMs === undefined ? log : this.logMs + (log - this.logMs) * WEIGHT;
    this.typicalMs = Math.exp(this.logMs);
  }
}

const MAX_TOOLS = 1000;

/** The tools that were called, by their code. */
export class KnownTools {
  private readonly byCode = new WeakMap<PortableCode, KnownTool>();
  /** For callers that describe the same code with a new object each time. */
  private readonly byText = new Map<string, KnownTool>();
  private count = 0;

  find(code: PortableCode, toolName: string): KnownTool {
    const same = this.byCode.get(code);
    if (same !== undefined && same.name === toolName) return same;
    const text = code.kind === 'source' ? code.text : `${code.url}#${code.exportName}`;
    const key = `${toolName} ${code.kind} ${text}`;
    let tool = this.byText.get(key);
    if (tool === undefined) {
      tool = new KnownTool(this.count++, toolName, code);
      if (this.byText.size >= MAX_TOOLS) this.byText.delete(this.byText.keys().next().value!);
      this.byText.set(key, tool);
    }
    this.byCode.set(code, tool);
    return tool;
  }
}
