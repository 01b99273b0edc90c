// Package gitops tests how other programs judge the status of cephtune's objects: Argo CD with the health
// scripts in config/argocd, Flux with kstatus, and "kubectl wait". The package is a separate module, so
// that the operator does not depend on the libraries of these programs.
package gitops

import (
	"context"
	"errors"
	"fmt"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// health is Argo CD's result for an object.
type health struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

// timeout ends a script that would run for ever. Argo CD allows one second, and these scripts take far
// less. A test allows more, because a busy machine may pause it for more than a second.
const timeout = 30 * time.Second

// run runs a health script with Argo CD's interpreter. It opens only the libraries base and table. So a
// script that needs the library string, for example, fails here as it would in Argo CD.
func run(ctx context.Context, script string, object map[string]any) (health, error) {
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := l.CallByParam(lua.P{Fn: l.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			return health{}, fmt.Errorf("open library %q: %w", name, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	l.SetContext(ctx)
	l.SetGlobal("obj", value(l, object))
	if err := l.DoString(script); err != nil {
		return health{}, fmt.Errorf("run the script: %w", err)
	}
	answer, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		return health{}, errors.New("the script returned no table")
	}
	return health{Status: text(answer, "status"), Message: text(answer, "message")}, nil
}

func text(table *lua.LTable, key string) string {
	if s, ok := table.RawGetString(key).(lua.LString); ok {
		return string(s)
	}
	return ""
}

// value converts a JSON value to Lua.
func value(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case bool:
		return lua.LBool(v)
	case string:
		return lua.LString(v)
	case float64:
		return lua.LNumber(v)
	case int64:
		return lua.LNumber(v)
	case []any:
		list := l.NewTable()
		for _, item := range v {
			list.Append(value(l, item))
		}
		return list
	case map[string]any:
		table := l.NewTable()
		for key, item := range v {
			table.RawSetString(key, value(l, item))
		}
		return table
	}
	return lua.LNil
}
