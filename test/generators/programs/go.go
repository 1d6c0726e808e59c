package main

import (
	"context"
	"fmt"
	"os"

	vault "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	settings := vault.NewConfiguration()
	settings.Servers = vault.ServerConfigurations{{URL: os.Getenv("VAULT_URL")}}
	client := vault.NewAPIClient(settings)
	account := vault.BasicAuth{UserName: os.Getenv("VAULT_NAME"), Password: os.Getenv("VAULT_PASSWORD")}
	ctx := context.WithValue(context.Background(), vault.ContextBasicAuth, account)
	key, _, err := client.KeyAPI.CreateKey(ctx).CreateKey(*vault.NewCreateKey("go")).Execute()
	must(err)
	card := map[string]interface{}{"card_number": os.Getenv("CARD"), "expiry": "12/29"}
	stored, _, err := client.VaultAPI.StoreItem(ctx).Key("go").RequestBody(card).XVaultPassphrase(key.Passphrase).Execute()
	must(err)
	tree, _, err := client.VaultAPI.ReadItems(ctx).Key("go").Execute()
	must(err)
	item, _, err := client.VaultAPI.ReadItems(ctx).Key("go").Token(stored.Token).XVaultPassphrase(key.Passphrase).Execute()
	must(err)
	fmt.Printf("%d listed, decrypted %s\n", len(tree["go"].([]interface{})), item["card_number"])
}
