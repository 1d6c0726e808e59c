import { expect, test } from 'bun:test';
import { createApp } from '../../server/boot/app.ts';
import { listen } from '../../server/http/listen/listen.ts';
import { AUTHORIZATION, createStubParts } from './stub-parts.ts';
import { talkTo } from './talk.ts';

test('a tunnel is nothing, however long the runtime hears it out', async () => {
  const parts = createStubParts();
  const server = listen(createApp(parts), { hostname: '127.0.0.1', port: 0, idleTimeoutSeconds: 1 });
  const head = `Host: vault.test\r\nAuthorization: ${AUTHORIZATION}\r\n\r\n`;
  const { text, isClosed } = await talkTo(
    server.port,
    `CONNECT vault.test:80 HTTP/1.1\r\n${head}GET /v1/whoami?canary HTTP/1.1\r\n${head}`,
  );
  await server.stop(true);
  expect([isClosed, parts.asked]).toEqual([true, []]);
  expect(text).toMatch(/^(HTTP\/1\.1 [45]\d\d |$)/);
});
