import { signal } from '@preact/signals';
import { FrameQueue } from './frame-queue.ts';
import { reduce } from './reduce.ts';
import { EMPTY, type Message, type State } from './state.ts';

/** All that the page knows of the server. Only messages change it, once in a frame. */
export const state = signal<State>(EMPTY);

const queue = new FrameQueue<Message>((messages) => {
  state.value = reduce(state.value, messages);
});

export function dispatch(...messages: readonly Message[]): void {
  queue.push(...messages);
}
