/** Devices that keep passkeys, as Chromium pretends to have them. */
import type { CDPSession, Page } from 'playwright-core';

/** A device that keeps passkeys. */
export interface Device {
  readonly cdp: CDPSession;
  readonly authenticatorId: string;
}

/** Adds a device to a page: one that checks its user and has PRF, unless the options of Chromium say otherwise. */
export async function plug(page: Page, options: object = {}): Promise<Device> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      ...{ protocol: 'ctap2', ctap2Version: 'ctap2_1', transport: 'internal', hasResidentKey: true },
      ...{ hasUserVerification: true, isUserVerified: true, hasPrf: true },
      ...{ automaticPresenceSimulation: true, ...options },
    },
  });
  return { cdp, authenticatorId };
}
