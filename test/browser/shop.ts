/** Where a page finds an endpoint, and what opens it. */
export interface PageEndpoint {
  readonly url: string;
  readonly secret: string;
}

/** A shop of another origin than the vault's, with a page that sends a card to a capture endpoint. */
export interface Shop {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

function pageOf({ url, secret }: PageEndpoint): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<link rel="icon" href="data:,">
<title>Checkout</title>
<form>
  <label>Card number <input name="card_number" autocomplete="cc-number"></label>
  <label>Expiry <input name="expiry" autocomplete="cc-exp"></label>
  <button>Save card</button>
</form>
<p>Token <output id="token"></output></p>
<p>Reference <output id="reference"></output></p>
<script>
  document.querySelector('form').addEventListener('submit', async (event) => {
    event.preventDefault();
    const card = Object.fromEntries(new FormData(event.target));
    const reply = await fetch('${url}', {
      method: 'POST',
      headers: { 'X-Vault-Capture-Secret': '${secret}' },
      body: JSON.stringify(card),
    });
    const { token, reference } = await reply.json();
    document.querySelector('#token').value = token;
    document.querySelector('#reference').value = reference;
  });
</script>
</html>`;
}

/** Opens the shop on a port of its own, under the name localhost: to a vault on 127.0.0.1 that is another site. */
export function openShop(endpoint: PageEndpoint): Shop {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response(pageOf(endpoint), { headers: { 'Content-Type': 'text/html' } }),
  });
  return { url: `http://localhost:${server.port}/`, stop: () => server.stop(true) };
}
