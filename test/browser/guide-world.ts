/** The guide in a real browser: a server without a vault behind it, and Chromium. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { createApp } from '../../server/boot/app.ts';
import { listen } from '../../server/http/listen/listen.ts';
import { buildGuide } from '../helpers/built-guide.ts';
import { createStubParts } from '../http/stub-parts.ts';
import { launchChromium } from './chromium.ts';

const TIMEOUT_MS = 30_000;

export interface GuideWorld {
  readonly url: string;
  /** A page in a context of its own; the one before is closed. Its faults are what the browser complained of. */
  readonly open: (
    path: string,
    options?: Parameters<Browser['newContext']>[0],
  ) => Promise<{ readonly page: Page; readonly faults: string[] }>;
  readonly close: () => Promise<void>;
}

export async function openGuideWorld(): Promise<GuideWorld> {
  await buildGuide();
  const browser = await launchChromium();
  const app = createApp(createStubParts());
  const server = listen(app, { hostname: '127.0.0.1', port: 0, idleTimeoutSeconds: 30 });
  const url = `http://127.0.0.1:${server.port}`;
  let context: BrowserContext | undefined;
  return {
    url,
    open: async (path, options) => {
      await context?.close();
      context = await browser.newContext({ reducedMotion: 'reduce', ...options });
      const page = await context.newPage();
      page.setDefaultTimeout(TIMEOUT_MS);
      const faults: string[] = [];
      page.on('console', (message) => faults.push(message.text()));
      page.on('pageerror', (error) => faults.push(error.message));
      await page.goto(`${url}${path}`);
      return { page, faults };
    },
    close: async () => {
      await browser.close();
      await server.stop(true);
    },
  };
}
