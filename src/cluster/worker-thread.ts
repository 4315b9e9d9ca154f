import { parentPort, workerData } from 'node:worker_threads';
import { toWireError } from '../runners/wire-error.ts';
import type { LinkMessage, LinkRequest } from './worker.ts';
import { WorkerLink, type WorkerLinkOptions } from './worker-link.ts';

/** The thread of a worker that talks to the cluster. Tools run in another one. */
const port = parentPort!;
const send = (message: LinkMessage) => port.postMessage(message);

try {
  const link = await WorkerLink.open(workerData as WorkerLinkOptions, {
    start: (calls) => send({ type: 'start', calls }),
    stop: (key) => send({ type: 'stop', key }),
    recall: (key) => send({ type: 'recall', key }),
    notify: (text) => send({ type: 'note', text }),
    gone: () => {
      send({ type: 'gone' });
      port.close();
    },
  });
  port.on('message', (request: LinkRequest) => {
    if (request.type === 'finished') link.finished(request.calls);
    else if (request.type === 'progress') link.progressed(request.key, request.progress);
    else if (request.type === 'waiting') link.waits(request.keys);
    else if (request.type === 'drain') link.drain();
    else void link.close().then(() => port.close());
  });
  send({ type: 'ready' });
} catch (error) {
  send({ type: 'failed', error: toWireError(error) });
  port.close();
}
