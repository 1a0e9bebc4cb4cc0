// Only to build pint (test/chart/pint.ts): with go.sum, every module that it is made of is the one that was tested.
module sallyport.dev/test/pint

go 1.22.0

require github.com/cloudflare/pint v0.60.0
