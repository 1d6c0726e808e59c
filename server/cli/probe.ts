/**
 * Checks whether the server of this machine, with these settings, is ready: exit code 0 if it is. For the health check of an
 * image without a shell or an HTTP client.
 */
import { loadConfig, processEnv } from '../config/config.ts';

/** Below the usual timeout of container health checks, 5 s. */
const TIMEOUT_MS = 4_000;

const { host, port, tls } = loadConfig(processEnv());
const isEveryAddress = host === '0.0.0.0' || host === '::';
const name = isEveryAddress ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;

const isReady = await fetch(`${tls === undefined ? 'http' : 'https'}://${name}:${port}/health/ready`, {
  // The certificate is for the public address, not for this one; the request contains nothing secret.
  tls: { rejectUnauthorized: false },
  signal: AbortSignal.timeout(TIMEOUT_MS),
}).then(
  ({ ok }) => ok,
  () => false,
);
process.exit(isReady ? 0 : 1);
