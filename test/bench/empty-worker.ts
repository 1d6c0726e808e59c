/** A thread of the vault's pool that answers at once, with as many bytes as the vault's own would. */
import { workerData } from 'node:worker_threads';
import { bytes, list } from '../../workers/jobs/codec.ts';
import { failureOf } from '../../workers/pool/failure.ts';
import { serveThread } from '../../workers/pool/thread.ts';
import type { ItemSizes } from './empty-pipeline.ts';

const { item, meta, refMember, logEntry, text } = workerData as ItemSizes;
const FIELDS = list(bytes);
const sealed = [item, meta, refMember, logEntry].map((size) => new Uint8Array(size));
const opened = [new Uint8Array(text).fill(0x20), new Uint8Array(logEntry)];

serveThread(
  new Map([
    [0, { input: FIELDS, output: FIELDS, handle: () => sealed }],
    [1, { input: FIELDS, output: FIELDS, handle: () => opened }],
  ]),
  failureOf,
);
