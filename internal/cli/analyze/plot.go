package analyze

import "errors"

func drawFigure(*study, *report) ([]byte, error) { return nil, errors.New("not yet") }
