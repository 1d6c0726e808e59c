/**
 * Asks the server of this machine, by the settings that it was started with, whether it is ready: exit code 0 if so.
 * For the health check of an image, which has neither a shell nor another program to ask with.
 */
import { loadConfig, processEnv } from '../config/config.ts';

const ANSWER_MS_MAX = 4_000;

const { host, port, tls } = loadConfig(processEnv());
const isEveryAddress = host === '0.0.0.0' || host === '::';
const name = isEveryAddress ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;

const isReady = await fetch(`${tls === undefined ? 'http' : 'https'}://${name}:${port}/health/ready`, {
  // The certificate names the address that callers see, not this one; nothing is sent that anybody could want.
  tls: { rejectUnauthorized: false },
  signal: AbortSignal.timeout(ANSWER_MS_MAX),
}).then(
  ({ ok }) => ok,
  () => false,
);
process.exit(isReady ? 0 : 1);
