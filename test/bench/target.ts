/**
 * A third party over TLS that answers at once, or under `/after/MS` so many milliseconds later. Takes the files of its
 * certificate and its key, prints its port.
 */
const [cert = '', key = ''] = process.argv.slice(2);

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  tls: { cert: Bun.file(cert), key: Bun.file(key) },
  fetch: async (request) => {
    const { length } = await request.text();
    const ms = Number(/\/after\/(\d+)$/.exec(request.url)?.[1] ?? 0);
    if (ms > 0) {
      await Bun.sleep(ms);
    }
    return Response.json({ id: 'ch_1001', status: 'paid', bytes: length }, { status: 201 });
  },
});
process.stdout.write(`PORT ${server.port}\n`);
