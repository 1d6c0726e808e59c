import java.util.List;
import java.util.Map;
import org.openapitools.client.Configuration;
import org.openapitools.client.api.KeyApi;
import org.openapitools.client.api.VaultApi;
import org.openapitools.client.model.CreateKey;

public class Main {
  public static void main(String[] args) throws Exception {
    var client = Configuration.getDefaultApiClient();
    client.setBasePath(System.getenv("VAULT_URL"));
    client.setUsername(System.getenv("VAULT_NAME"));
    client.setPassword(System.getenv("VAULT_PASSWORD"));
    var key = new KeyApi(client).createKey(new CreateKey().key("java"), null);
    var vault = new VaultApi(client);
    Map<String, Object> card = Map.of("card_number", System.getenv("CARD"), "expiry", "12/29");
    var stored = vault.storeItem("java", card, null, null, null, null, null, null, null, null, key.getPassphrase(), null, null);
    var tree = read(vault, null, null);
    var item = read(vault, stored.getToken(), key.getPassphrase());
    System.out.println(((List<?>) tree.get("java")).size() + " listed, decrypted " + item.get("card_number"));
    System.exit(0);
  }

  static Map<String, Object> read(VaultApi vault, String token, String passphrase) throws Exception {
    return vault.readItems("java", null, token, null, null, null, null, null, null, null, null, null, null, passphrase, null);
  }
}
