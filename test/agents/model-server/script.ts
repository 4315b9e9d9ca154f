/** What an agent told the model so far, in whichever protocol. */
export interface Conversation {
  /** Names of the tools that the model may ask for. */
  readonly tools: readonly string[];
  /** What tools answered, in order. */
  readonly results: readonly string[];
  /** All that was said, as the protocol has it. */
  readonly text: string;
}

export interface ToolCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** What the model says: words, or a tool that it wants to be used. */
export type Reply = { readonly text: string } | { readonly call: ToolCall };

/** What the server of the model says where the model says nothing. */
interface Refusal {
  readonly refusal: string;
}

/** The account has used up what it may ask for. */
interface Exhausted {
  readonly resetsInMs: number;
}

/** A model that does as it is told: the conversation decides what it says next, so that it does not matter who asks twice. */
export type Script = (conversation: Conversation) => Reply | Refusal | Exhausted;

/** What each reply is said to have used. */
export const USAGE = { input: 1200, output: 34 } as const;

/** Asks for the calls one after another, and ends with a word. Questions of agents to themselves are answered shortly. */
export function inOrder(calls: (tools: readonly string[]) => readonly ToolCall[], lastWord: string): Script {
  return ({ tools, results }) => {
    if (tools.length === 0) return { text: 'Fine.' };
    const call = calls(tools)[results.length];
    return call === undefined ? { text: lastWord } : { call };
  };
}

/** An account that is used up when it is first asked, and for a while after that. */
export function exhaustedAtFirst(script: Script, forMs: number): Script {
  let until: number | undefined;
  return (conversation) => {
    if (conversation.tools.length === 0) return script(conversation);
    until ??= Date.now() + forMs;
    const resetsInMs = until - Date.now();
    return resetsInMs > 0 ? { resetsInMs } : script(conversation);
  };
}
