package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"example.test/client/vault"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	signIn := func(_ context.Context, request *http.Request) error {
		request.SetBasicAuth(os.Getenv("VAULT_NAME"), os.Getenv("VAULT_PASSWORD"))
		return nil
	}
	client, err := vault.NewClientWithResponses(os.Getenv("VAULT_URL"), vault.WithRequestEditorFn(signIn))
	must(err)
	ctx := context.Background()
	user := "oapi-codegen"
	key, err := client.CreateKeyWithResponse(ctx, &vault.CreateKeyParams{}, vault.CreateKey{Key: user})
	must(err)
	passphrase := key.JSON200.Passphrase
	card := vault.StoredObject{"card_number": os.Getenv("CARD"), "expiry": "12/29"}
	stored, err := client.StoreItemWithResponse(ctx, &vault.StoreItemParams{Key: user, XVaultPassphrase: &passphrase}, card)
	must(err)
	tree, err := client.ReadItemsWithResponse(ctx, &vault.ReadItemsParams{Key: &user})
	must(err)
	token := stored.JSON200.Token
	item, err := client.ReadItemsWithResponse(ctx, &vault.ReadItemsParams{Key: &user, Token: &token, XVaultPassphrase: &passphrase})
	must(err)
	listed := (*tree.JSON200)[user].([]interface{})
	fmt.Printf("%d listed, decrypted %s\n", len(listed), (*item.JSON200)["card_number"])
}
