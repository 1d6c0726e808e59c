/** A process of its own that sends to a collector, for what only another environment can show. */
import { sendSyslog } from '../../server/outbound/syslog.ts';

/** Sends a message over TLS from a new process with these variables; the error, or '' when it was taken. */
export async function sendSyslogAlone(
  port: number,
  variables: Record<string, string>,
): Promise<{ readonly error: string }> {
  const child = Bun.spawn([process.execPath, import.meta.path, String(port)], {
    env: { ...process.env, ...variables },
    stdout: 'pipe',
    stderr: 'ignore',
  });
  return JSON.parse(await child.stdout.text());
}

if (import.meta.main) {
  const target = { host: 'localhost', port: Number(process.argv[2]), tls: true };
  const sent = sendSyslog(target, Buffer.from('5 hello'), new AbortController().signal);
  const error = await sent.then(() => '', String);
  process.stdout.write(JSON.stringify({ error }));
}
