/** The payments of the recipes' payment service, whose sandbox fails on purpose for two amounts. */
import type { Act, Received } from '../helpers/third-party.ts';

interface Payment {
  readonly id: string;
  readonly order: string;
  readonly status: 'paid' | 'declined';
}

const DECLINED_NUMBER = '4000000000000002';
const BUSY_AMOUNT = 50_300;
const LOST_AMOUNT = 50_400;
const FAILURES = 2;

function reply(status: number, body: object): Act {
  return {
    status,
    headers: [['Content-Type', 'application/json']],
    body: JSON.stringify(body),
  };
}

/** Makes a payment once for each Idempotency-Key; a GET lists all that there are. */
export function createPayments(): (request: Received) => Act {
  const made = new Map<string, Payment>();
  const requests = new Map<string, number>();

  return ({ method, text, header }) => {
    if (method === 'GET') {
      return reply(200, [...made.values()]);
    }
    const { order, amount, card } = JSON.parse(text);
    if (!/^\d{16}$/.test(card.number) || !/^\d\d\/\d\d$/.test(card.expiry)) {
      return reply(400, { error: 'no card' });
    }
    const key = header('idempotency-key') ?? `request ${made.size}`;
    const count = (requests.get(key) ?? 0) + 1;
    requests.set(key, count);
    if (amount === BUSY_AMOUNT && count <= FAILURES) {
      return 503;
    }
    const status = card.number === DECLINED_NUMBER ? 'declined' : 'paid';
    const payment = made.get(key) ?? { id: `pay_${made.size + 1}`, order, status };
    made.set(key, payment);
    if (amount === LOST_AMOUNT && count <= FAILURES) {
      return 'reset';
    }
    return reply(payment.status === 'paid' ? 201 : 402, payment);
  };
}
