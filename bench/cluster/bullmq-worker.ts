import { Worker } from 'bullmq';

const [port, concurrency] = process.argv.slice(2).map(Number) as [number, number];
const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null };
const worker = new Worker('no-ops', async () => {}, { connection, concurrency });
await worker.waitUntilReady();
process.send!('ready');
